const loopback = /^https?:\/\/(?:localhost|127\.|\[::1\])/;

/** Whether an address leads nobody but its own computer to svc. */
export const isLoopback = (url: string): boolean => loopback.test(url);
