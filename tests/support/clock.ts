import { databaseNow } from "@/lib/platform/db/clock";
import { Prisma } from "@/lib/platform/db/generated/client";

/** The clock that the service under test reads. */
export const clock = {
  offsetMs: 0,
  now: () => new Date(Date.now() + clock.offsetMs),
  advance: (ms: number) => {
    clock.offsetMs += ms;
  },
  reset: () => {
    clock.offsetMs = 0;
  },
  /** The database's clock, moved with the service's. */
  dbNow: () => Prisma.sql`(${databaseNow()} + interval '1 millisecond' * ${clock.offsetMs}::float8)`,
};
