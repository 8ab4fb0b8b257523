/**
 * The system calls that v1 sandboxes, and shims, cannot make, as a classic BPF program for `bwrap --seccomp`. gVisor needs none: its
 * kernel answers them itself. Denied is what reaches parts of the host's kernel that a namespace does not contain, or
 * would make new namespaces, in which code is root and meets far more of it.
 */

/** Numbers on x64, and on arm64; null where the call is not there. */
const denied: Record<string, [number | null, number]> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  unshare: [272, 97],
  setns: [308, 268],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  file_setattr: [469, 469],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  fanotify_mark: [301, 263],
  lookup_dcookie: [212, 18],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  vhangup: [153, 58],
  vmsplice: [278, 75],
  memfd_secret: [447, 447],
  iopl: [172, -1],
  ioperm: [173, -1],
  modify_ldt: [154, -1],
  nfsservctl: [180, 42],
  uselib: [134, -1],
  ustat: [136, -1],
  sysfs: [139, -1],
};
const calls = {
  x64: { audit: 0xc000003e, socket: 41, clone: 56, clone3: 435, ioctl: 16 },
  arm64: { audit: 0xc00000b7, socket: 198, clone: 220, clone3: 435, ioctl: 29 },
};

/** Unix, IPv4, IPv6, and of netlink what tells the interfaces; no vsock, packet, alg, bluetooth and whatever comes. */
const families = [1, 2, 10];
const netlink = 16;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const newNamespaces = 0x7e020000;
/** CLONE_THREAD: not a process of its own. */
const threadOfOne = 0x00010000;
/** The other ways to a process: a shim starts nothing. */
const forks: typeof denied = { fork: [57, -1], vfork: [58, -1] };
/** TIOCSTI and TIOCLINUX put words into the mouth of a terminal. */
const terminalTricks = [0x5412, 0x541c];
/**
 * SNAP_CREATE, SUBVOL_CREATE and their second versions: on btrfs every user may make a subvolume in a directory of its
 * own, and a quota does not count what is in it. SUBVOL_SETFLAGS would make the workspace read-only for us as well, and
 * FS_IOC_FSSETXATTR moves a file to another project of XFS. Cloning stays: what two files share counts in the one quota,
 * and no other workspace is in reach.
 */
const quotaTricks = [0x50009401, 0x5000940e, 0x50009417, 0x50009418, 0x4008941a, 0x401c5820];

const allow = 0x7fff0000;
const kill = 0x80000000;
const errno = (number: number): number => 0x00050000 + number;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];

type Instruction = [code: number, jumpTrue: number, jumpFalse: number, value: number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const give = (value: number): Instruction => [0x06, 0, 0, value];
/** Goes on with the next instruction when equal, else leaves out `past`. */
const equal = (value: number, past: number): Instruction => [0x15, 0, past, value];
/** Offset of the lower half of argument `index`. */
const argument = (index: number): number => 16 + 8 * index;

/** The program for v1 sandboxes on this machine; undefined for an architecture that it does not know. */
export function seccompProgram(architecture: string): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  return assemble(architecture, denied, [load(argument(0)), [0x45, 0, 1, newNamespaces], give(errno(EPERM))]);
}

/** The program for shims: the same, and no new process; threads are made as ever. */
export function shimFilter(architecture: string): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  return assemble(architecture, { ...denied, ...forks }, [
    load(argument(0)),
    [0x45, 1, 0, threadOfOne],
    give(errno(EPERM)),
  ]);
}

function assemble(architecture: 'x64' | 'arm64', refused: typeof denied, onClone: Instruction[]): Buffer {
  const own = calls[architecture];
  const at = architecture === 'x64' ? 0 : 1;
  const numbers = Object.values(refused).map((pair) => pair[at]);
  const program: Instruction[] = [
    load(4),
    // Another architecture's calls (32 bits) have other numbers.
    [0x15, 1, 0, own.audit],
    give(kill),
    load(0),
    // x32.
    [0x35, 0, 1, 0x40000000],
    give(errno(ENOSYS)),
    ...numbers.flatMap((number) =>
      number === null || number === undefined || number < 0 ? [] : [equal(number, 1), give(errno(EPERM))],
    ),
    // Its flags are in memory, which a filter cannot see; libc then uses clone.
    equal(own.clone3, 1),
    give(errno(ENOSYS)),
    ...section(own.clone, onClone),
    ...section(own.ioctl, [
      load(argument(1)),
      ...[...terminalTricks, ...quotaTricks].flatMap((trick) => [equal(trick, 1), give(errno(EPERM))]),
    ]),
    ...section(own.socket, [
      load(argument(0)),
      ...families.flatMap((family) => [equal(family, 1), give(allow)]),
      equal(netlink, 3),
      load(argument(2)),
      equal(0, 1),
      give(allow),
      give(errno(EAFNOSUPPORT)),
    ]),
    give(allow),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jumpTrue, jumpFalse, value], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return bytes;
}

/** Instructions for one call only; the number is loaded again for the next. */
function section(number: number, body: Instruction[]): Instruction[] {
  return [equal(number, body.length), ...body, load(0)];
}
