import { randomUUID } from "node:crypto";
import type { BodyPart, ByteRange } from "../../response-content";

/** A response body that is put together from parts: its media type, length and parts. */
type ComposedBody = { contentType: string; sizeBytes: number; parts: readonly BodyPart[] };

/** Several ranges of a file as multipart/byteranges (RFC 9110, sections 14.6 and 15.3.7.2). */
export function multipartRanges(
  ranges: readonly ByteRange[],
  file: { contentType: string; sizeBytes: number },
): ComposedBody {
  const boundary = randomUUID(); // the author of a file cannot know it
  const headerOf = ({ first, last }: ByteRange, i: number) =>
    [
      `${i === 0 ? "" : "\r\n"}--${boundary}`,
      `Content-Type: ${file.contentType}`,
      `Content-Range: bytes ${first}-${last}/${file.sizeBytes}`,
      "\r\n",
    ].join("\r\n");
  const parts: BodyPart[] = ranges.flatMap((range, i) => [Buffer.from(headerOf(range, i)), range]);
  parts.push(Buffer.from(`\r\n--${boundary}--\r\n`));
  const sizeBytes = parts.reduce((sum, part) => sum + lengthOf(part), 0);
  return { contentType: `multipart/byteranges; boundary=${boundary}`, sizeBytes, parts };
}

function lengthOf(part: BodyPart): number {
  return part instanceof Uint8Array ? part.byteLength : part.last - part.first + 1;
}
