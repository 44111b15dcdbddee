import { v7 } from "uuid";
import { z } from "zod";

/**
 * Makes the id of a row that SQL inserts: a UUID of version 7 (RFC 9562, section 5.7). Each is greater than those that
 * the process made before, so that an index grows at its end and ids sort by time. Prisma makes such ids for its own
 * INSERTs.
 */
export function newId(): string {
  return v7();
}

const Id = z.uuid();

/** Whether a text is a UUID (RFC 9562), in lower or upper case. */
export function isUuid(text: string): boolean {
  return Id.safeParse(text).success;
}
