import { z } from "zod";
import { isStorableText } from "../storable-text";

/** Why an operator makes a change. The audit event keeps it. */
export const Reason = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .refine(isStorableText, "Must not contain NUL or lone surrogates")
  .meta({ description: "Why, for the audit trail.", examples: ["Asked for by email, ticket 4711"] });
