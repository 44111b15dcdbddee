import { z } from "zod";

/**
 * An email address: trimmed, lower-cased, at most 254 characters with 64 before the @ (RFC 5321, 4.5.3.1). Only ASCII,
 * checked before it is lower-cased: U+212A, the Kelvin sign, would become "k".
 */
export const Email = z
  .string()
  .trim()
  .max(254)
  .pipe(z.email("Must be an email address"))
  .refine((email) => email.lastIndexOf("@") <= 64, "Must have at most 64 characters before the @")
  .transform((email) => email.toLowerCase())
  .meta({ description: "Email address, case-insensitive.", examples: ["ann@example.com"] });
