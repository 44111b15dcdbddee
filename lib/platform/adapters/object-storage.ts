/** An object with the headers that a browser receives. */
type DownloadObject = { key: string; contentDisposition: string; contentType: string };

/** An object to store. `sha256` is hexadecimal; the storage rejects bytes with another hash. */
type UploadObject = {
  key: string;
  sizeBytes: number;
  sha256: string;
  contentType: string;
  bytes: AsyncIterable<Uint8Array>;
};

/** S3-compatible object storage. */
export type ObjectStorage = {
  /** Returns a public URL that is valid for five minutes, without a request. @throws Error for an invalid key */
  presignGet: (object: DownloadObject) => Promise<string>;
  /** Stores an object of at most 5 GiB. @throws Error if the storage rejects it or does not respond */
  put: (upload: UploadObject) => Promise<void>;
};
