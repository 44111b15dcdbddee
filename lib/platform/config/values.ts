import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { fieldMessage } from "../field-message";

const MIN_SECRET_LENGTH = 32;
const SECRET_TOO_SHORT = "each secret must be at least 32 characters long; a comma separates two secrets";

/** Settings that earlier builds had, and what replaces them. */
export const REMOVED_SETTINGS = [
  { setting: "DATABASE_READ_URL", instead: "DATABASE_URL serves all reads" },
  { setting: "WEB_CONCURRENCY", instead: "run one instance for each core: docs/deploy.md#use-all-cores" },
];

export const text = z.string().trim().min(1);
/** A URL that requests go to: with a path and a query, it stays below the 8,000 bytes that servers take (RFC 9110, section 4.1). */
export const httpUrl = z.url({ protocol: /^https?$/ }).max(2_000);
/** A key that is sent in a header: servers take 8 KiB at least. */
export const headerKey = text.max(4_096);
export const port = z.coerce.number().int().min(0).max(65_535);
export const flag = z.enum(["true", "false"]).transform((value) => value === "true");
export const list = z.string().transform((value) => value.split(",").flatMap((entry) => entry.trim() || []));
/** One secret, or several separated by commas, the newest first. A single one is used as it was given. */
export const secretRing = z
  .string()
  .transform((value) => (value.includes(",") ? value.split(",").flatMap((entry) => entry.trim() || []) : [value]))
  .pipe(
    z.tuple([z.string().min(MIN_SECRET_LENGTH, SECRET_TOO_SHORT)], z.string().min(MIN_SECRET_LENGTH, SECRET_TOO_SHORT)),
  );
const originsOf = (protocol: RegExp) =>
  list.pipe(z.array(z.url({ protocol }).transform((value) => new URL(value).origin)));
export const origins = originsOf(/^https?$/);
export const httpsOrigins = originsOf(/^https$/);
export const baseUrl = z
  .url({ protocol: /^https?$/ })
  .refine((value) => new URL(value).href === `${new URL(value).origin}/`, "must be an origin without a path")
  .transform((value) => new URL(value).origin);
/** A PEM key may have its line breaks written as \n, because many systems keep variables on one line. */
export const appleSecret = text
  .transform((value) => value.replaceAll("\\n", "\n"))
  .refine((value) => !value.startsWith("-----BEGIN") || isEcKey(value), "must be an EC private key in PEM");

/** `SECURITY_CONTACT`: email addresses and web pages, as the URIs of RFC 9116, section 2.5.3. */
export const securityContacts = list.pipe(
  z.array(
    z.union(
      [
        z.email().transform((email) => `mailto:${email}`),
        z.url({ protocol: /^(https|mailto|tel)$/ }).transform((url) => new URL(url).href),
      ],
      "must be email addresses or https URLs, separated by commas",
    ),
  ),
);

/** A path, or a URL without credentials: those would be logged. Plain http is for this machine only. */
export function isCatalog(value: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return true;
  if (!URL.canParse(value)) return false;
  return isUnalterable(value);
}

/** Whether nobody on the way can change what the URL serves, and it has no credentials. */
function isUnalterable(url: string): boolean {
  const { protocol, username, password } = new URL(url);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopbackUrl(url));
  return isSafe && username === "" && password === "";
}

/** A URL without credentials, to read what the service believes. Plain http is for this machine only. */
export const trustedUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => URL.canParse(url) && isUnalterable(url), "must be an https URL without credentials");

/** Whether a URL names this machine. */
export function isLoopbackUrl(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** JSON that begins with `start`, or the path of a file with it. */
export function json<Value>(schema: z.ZodType<Value>, start: "[" | "{") {
  return z.string().transform((value, ctx): Value => {
    try {
      const text = value.trimStart().startsWith(start) ? value : readFileSync(value, "utf8");
      const parsed = schema.safeParse(JSON.parse(text), { error: fieldMessage });
      if (parsed.success) return parsed.data;
      for (const { path, message } of parsed.error.issues) ctx.addIssue(`${path.join(".")} ${message}`.trim());
    } catch (error) {
      const kind = start === "[" ? "array" : "object";
      ctx.addIssue(
        error instanceof SyntaxError ? "is not valid JSON" : `must be a JSON ${kind}, or the path of a file`,
      );
    }
    return z.NEVER;
  });
}

/** A PEM certificate, or the path of a file with one. */
export const certificate = text.transform((value, ctx) => {
  try {
    return new X509Certificate(value.startsWith("-----BEGIN ") ? value : readFileSync(value)).toString();
  } catch {
    ctx.addIssue("must be a certificate in PEM, or the path of one");
    return z.NEVER;
  }
});

/** A P-256 private key in PEM, with line breaks or "\\n", or the path of a file with one. */
export const signingKey = text.transform((value, ctx) => {
  try {
    const pem = value.startsWith("-----BEGIN ") ? value.replaceAll("\\n", "\n") : readFileSync(value, "utf8");
    if (createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === "prime256v1") return pem;
  } catch {
    // reported below, without the value of the variable
  }
  ctx.addIssue("must be a .p8 private key from Apple, in PEM or as a path");
  return z.NEVER;
});

function isEcKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "ec";
  } catch {
    return false;
  }
}
