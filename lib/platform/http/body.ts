import { AppError, isAppError } from "../../errors";
import type { BodyFormat, RequestHead, RouteRequest } from "../http-message";

/** The maximum size of a body whose endpoint has no `maxBodyBytes`. */
export const DEFAULT_MAX_BODY_BYTES = 16 * 1024;

const MEDIA_TYPES: Partial<Record<BodyFormat, string>> = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
  stream: "application/offset+octet-stream", // of tus uploads
};

/** The format that the request's Content-Type names. @throws AppError unsupported_media_type */
export function formatOf({ headers }: RequestHead, formats: readonly BodyFormat[]): BodyFormat {
  const mediaType = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  const format = formats.find((one) => MEDIA_TYPES[one] === undefined || MEDIA_TYPES[one] === mediaType);
  if (format !== undefined) return format;
  const accepted = formats.map((one) => MEDIA_TYPES[one]);
  const detail = `The body must be ${accepted.join(" or ")}.`;
  throw new AppError("unsupported_media_type", { detail, headers: { Accept: accepted.join(", ") } });
}

/** Reads at most `maxBytes` of the body, whatever its Content-Length is. @throws AppError payload_too_large */
export async function readBody(request: RouteRequest, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () =>
    new AppError("payload_too_large", { detail: `At most ${maxBytes} bytes.`, fields: { limitBytes: maxBytes } });
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLarge();
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    // Leaving the loop cancels the stream.
    for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError("malformed_json", { detail: "The body ended early.", cause: error });
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/**
 * The value of a body, before its schema validates it.
 * @throws AppError malformed_json; validation_failed if a form has a field twice (RFC 6749, section 3.2)
 */
export function decodeBody(format: BodyFormat, bytes: Uint8Array): unknown {
  if (format === "json") return parseJson(bytes);
  if (format !== "form") return {};
  const fields = fieldsOf(bytes);
  const seen = new Set<string>();
  for (const [name] of fields) {
    if (seen.size === seen.add(name).size) {
      const errors = [{ pointer: `/${name}`, code: "repeated", detail: "Must not be repeated" }];
      throw new AppError("validation_failed", { errors });
    }
  }
  return Object.fromEntries(fields);
}

/** Parses JSON in UTF-8 (RFC 8259). @throws AppError malformed_json */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new AppError("malformed_json");
  }
}

export const parseForm = (bytes: Uint8Array): Record<string, string> => Object.fromEntries(fieldsOf(bytes));

/** The names of a form's fields, also of the empty ones. */
export const fieldNames = (bytes: Uint8Array): string[] => [
  ...new URLSearchParams(new TextDecoder().decode(bytes)).keys(),
];

/** The fields of a form, without the empty ones. */
function fieldsOf(bytes: Uint8Array): [name: string, value: string][] {
  return [...new URLSearchParams(new TextDecoder().decode(bytes))].filter(([, value]) => value !== "");
}
