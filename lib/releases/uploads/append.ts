import { type FileHandle, open } from "node:fs/promises";
import { AppError } from "../../errors";
import type { Upload } from "./upload-store";

/** How long a client may send nothing. It may then continue with another request. */
const STALL_TIMEOUT_MS = 20_000;

/** Bytes that follow the first `offsetBytes` of an upload. `lengthBytes` is their number, if the client has said it. */
export type AppendInput = {
  offsetBytes: number;
  lengthBytes: number | null;
  bytes: AsyncIterable<Uint8Array>;
  stallTimeoutMs?: number;
};

/**
 * Writes bytes to the end of an upload's file, and syncs it. On an error, what has arrived before it stays.
 * @throws AppError upload_offset_mismatch, payload_too_large, request_timeout, malformed_request; the file system's errors
 */
export async function appendBytes(
  { file, offsetBytes, sizeBytes }: Upload,
  { offsetBytes: given, lengthBytes, bytes, stallTimeoutMs = STALL_TIMEOUT_MS }: AppendInput,
): Promise<void> {
  if (given !== offsetBytes) {
    throw new AppError("upload_offset_mismatch", { fields: { offsetBytes }, detail: `The offset is ${offsetBytes}.` });
  }
  const limitBytes = sizeBytes - offsetBytes;
  const tooLarge = () =>
    new AppError("payload_too_large", { detail: `At most ${limitBytes} bytes.`, fields: { limitBytes } });
  if (lengthBytes !== null && lengthBytes > limitBytes) throw tooLarge();
  const handle = await open(file, "r+");
  try {
    let end = offsetBytes;
    for await (const chunk of arriving(bytes, stallTimeoutMs)) {
      const fitting = chunk.subarray(0, sizeBytes - end);
      await writeAll(handle, fitting, end);
      end += fitting.byteLength;
      if (fitting.byteLength < chunk.byteLength) throw tooLarge();
    }
  } finally {
    await handle.datasync().finally(() => handle.close());
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, position + done);
    done += bytesWritten;
  }
}

/** The chunks of a body. @throws AppError request_timeout, malformed_request */
async function* arriving(bytes: AsyncIterable<Uint8Array>, stallTimeoutMs: number): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await withTimeout(iterator.next(), stallTimeoutMs).catch((error: unknown) => {
        if (error instanceof AppError) throw error;
        throw new AppError("malformed_request", { detail: "The body ended early.", cause: error });
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a client that sends nothing would be waited for.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AppError("request_timeout")), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
