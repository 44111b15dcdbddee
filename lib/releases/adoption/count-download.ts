import type { BodyPart } from "../../platform/response-content";

/**
 * Passes on a body with parts of a file, and counts the download: started when the file's first byte is requested,
 * finished when its last byte was sent. A download in several requests therefore counts once.
 */
export async function* countDownload(
  body: AsyncIterable<Uint8Array>,
  parts: readonly BodyPart[],
  sizeBytes: number,
  record: (event: "started" | "finished") => void,
): AsyncGenerator<Uint8Array> {
  const has = (at: number) => parts.some((part) => "first" in part && part.first <= at && at <= part.last);
  if (has(0)) record("started");
  yield* body;
  if (has(sizeBytes - 1)) record("finished");
}
