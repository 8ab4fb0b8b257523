import { accessSync, constants } from 'node:fs';

/**
 * Leaves a working folder that is gone or that this user may not enter (`cd /root && svc up` goes on as another user):
 * programs that are started would begin there and fail. Relative paths never worked in such a one.
 */
export function leaveClosedFolder(): void {
  try {
    // By its path: `.` is there after the folder was removed.
    accessSync(process.cwd(), constants.X_OK);
  } catch {
    process.chdir('/');
  }
}
