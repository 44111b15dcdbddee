import type { z } from "zod";

type Issue = z.core.$ZodRawIssue;

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  date: "a time",
};

const FORMATS: Readonly<Record<string, string>> = {
  email: "an email address",
  url: "a URL",
  uuid: "a UUID",
  datetime: "a time such as 2027-01-31T06:00:00Z",
  date: "a date such as 2027-01-31",
  base64: "Base64",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
};

/**
 * What is wrong with a value, in the words of this service. For `safeParse(value, { error: fieldMessage })`; a schema's own
 * message comes first.
 */
export function fieldMessage(issue: Issue): string | undefined {
  if (issue.code === "invalid_type" && issue.input === undefined) return "Required";
  if (issue.code === "invalid_type") return `Must be ${TYPES[issue.expected] ?? "of another type"}`;
  if (issue.code === "too_big") return boundMessage(issue.origin, "at most", Number(issue.maximum));
  if (issue.code === "too_small") return boundMessage(issue.origin, "at least", Number(issue.minimum));
  if (issue.code === "invalid_format") return `Must be ${FORMATS[issue.format] ?? "in the right format"}`;
  if (issue.code === "not_multiple_of") return `Must be a multiple of ${issue.divisor}`;
  if (issue.code === "unrecognized_keys") return `Unknown: ${issue.keys.join(", ")}`;
  if (issue.code === "invalid_value") {
    const values = issue.values.map(String).join(", ");
    return issue.values.length === 1 ? `Must be ${values}` : `Must be one of ${values}`;
  }
  if (issue.code === "invalid_union") return "Must have one of the forms that are described";
  return undefined;
}

function boundMessage(origin: string, bound: string, limit: number): string {
  if (origin === "string") {
    if (bound === "at least" && limit === 1) return "Must not be empty";
    return `Must be ${bound} ${limit} characters long`;
  }
  if (origin === "array" || origin === "set") return `Must have ${bound} ${limit} ${limit === 1 ? "entry" : "entries"}`;
  if (origin === "date") return `Must be ${bound} ${new Date(limit).toISOString()}`;
  return `Must be ${bound} ${limit}`;
}
