/** Where backups are: a folder, or an S3 bucket. */
export type BackupStore = {
  /** Whether it is reached over the network, and may be slow or not answer. */
  isRemote: boolean;
  /** Stores a backup. Until it is complete and durable, nothing has its name. Returns its size in bytes. */
  write: (name: string, chunks: AsyncIterable<Uint8Array>) => Promise<number>;
  /** Reads a backup. @throws Error if it cannot be read */
  read: (name: string) => AsyncIterable<Uint8Array>;
  /** The names of all files. */
  list: () => Promise<string[]>;
  remove: (name: string) => Promise<void>;
};
