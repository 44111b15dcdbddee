import { v7 } from "uuid";
import { z } from "zod";

/**
 * Makes the id of a row that SQL inserts: a UUID of version 7 (RFC 9562, section 5.7) of the process's clock, or of the
 * time `at`. Ids sort by time, so that an index grows at its end. Prisma makes such ids for its own INSERTs.
 */
export function newId(at?: Date): string {
  return at ? v7({ msecs: at.getTime() }) : v7();
}

const Id = z.uuid();

/** Whether a text is a UUID (RFC 9562), in lower or upper case. */
export function isUuid(text: string): boolean {
  return Id.safeParse(text).success;
}
