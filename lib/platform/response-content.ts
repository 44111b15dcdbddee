/** Who may reuse a response and for how long; lib/platform/http writes it as Cache-Control (RFC 9111, section 5.2.2). */
export type Caching =
  /** Never changes under its URL. */
  | "immutable"
  /** The same for every client, and may change at any time. */
  | "shared"
  /** Depends on the client. */
  | "per-client"
  | "never";

/** Byte positions, both included. */
export type ByteRange = { first: number; last: number };

/** A part of a response's body: bytes as they are, or a range of the file. */
export type BodyPart = Uint8Array | ByteRange;

/** What is known of a file without reading it: `sha256` in hexadecimal, `sha512` in base64 or null if unknown. */
type FileMetadata = {
  fileName: string;
  contentType: string;
  sizeBytes: number;
  sha256: string;
  sha512: string | null;
  caching: Caching;
};

export type DownloadContent =
  | (FileMetadata & {
      kind: "file";
      modifiedAt: Date;
      /** Reads a body of these parts. Opens the file at the first read. */
      read: (parts: readonly BodyPart[]) => AsyncIterable<Uint8Array>;
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
