declare module "fs-native-extensions" {
  /** Takes an exclusive lock on the whole file, for as long as it is open; false where somebody else has it. */
  export function tryLock(fd: number): boolean;
}
