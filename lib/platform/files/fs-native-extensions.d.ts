declare module "fs-native-extensions" {
  /** Takes an exclusive lock on the whole file while it is open. Returns false if the lock is held elsewhere. */
  export function tryLock(fd: number): boolean;
}
