/** Who may reuse a response and for how long; lib/http writes it as Cache-Control (RFC 9111, section 5.2.2). */
export type Caching =
  /** Never changes under its URL. */
  | "immutable"
  /** The same for every client, and may change at any time. */
  | "shared"
  /** Depends on the client. */
  | "per-client"
  | "never";

/** What is known of a file without reading it: `sha256` in hexadecimal, `sha512` in base64. */
type FileMetadata = {
  fileName: string;
  contentType: string;
  sizeBytes: number;
  sha256: string;
  sha512: string;
  caching: Caching;
};

/** What a download sends. */
export type DownloadContent =
  | (FileMetadata & {
      kind: "file";
      modifiedAt: Date;
      /** Reads the bytes from `first` to `last`, both included. Opens the file at the first read. */
      read: (first: number, last: number) => AsyncIterable<Uint8Array>;
    })
  /** An object in private storage; `presign` returns a URL for GET that expires. */
  | (FileMetadata & { kind: "object"; presign: () => Promise<string> })
  | { kind: "redirect"; url: string; caching: Caching };

/** A text document with its strong entity tag, quoted. `text` null: there is nothing to report. */
export type DocumentContent = {
  text: string | null;
  contentType: string;
  etag: string;
  sizeBytes: number;
  caching: Caching;
};
