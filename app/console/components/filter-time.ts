import { z } from "zod";
import { isStorableTime, NOT_STORABLE } from "@/lib/platform/storable";

/** A time as `TimeFilter` sends it, or as the API has it. Without an offset it is in UTC, and a date is its midnight. */
export const FilterTime = z
  .union(
    [
      z.iso.datetime({ offset: true }),
      z.iso.date(),
      z.iso.datetime({ local: true }).transform((withoutOffset) => `${withoutOffset}Z`),
    ],
    "Must be a date or a time such as 2026-11-22T09:00:00Z",
  )
  .transform((text) => new Date(text))
  .refine(isStorableTime, NOT_STORABLE);
