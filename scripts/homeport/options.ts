import { Option } from "commander";
import type { z } from "zod";
import { fieldMessage } from "../../lib/platform/field-message";
import { UsageError } from "../command-line";

/** For an option that may be repeated: collects its values. Without the option there is no array. */
const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** An option with one of several values. `choices` are completed; whether the value is one, the command checks. */
export function oneOf(flags: string, help: string, choices: readonly string[]): Option {
  const option = new Option(flags, help);
  option.argChoices = [...choices];
  return option;
}

/** An option that may be repeated. `choices` are shown and completed; whether they are right, the command checks. */
export function repeatable(flags: string, help: string, choices?: readonly string[]): Option {
  const option = new Option(flags, help).argParser(collect);
  option.argChoices = choices && [...choices];
  return option;
}

/**
 * Checks arguments by the schema of the request that they become, before anything is opened, and returns them: the service
 * reads them in the same way. `optionOf` names the argument of each field. @throws UsageError with every fault
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  input: object,
  optionOf: Readonly<Record<string, string>>,
): z.input<Schema> {
  const parsed = schema.safeParse(input, { error: fieldMessage });
  if (parsed.success) return input as z.input<Schema>;
  const faults = parsed.error.issues.map(
    ({ path: [field], message }) => `${optionOf[String(field)] ?? String(field)}: ${message}`,
  );
  throw new UsageError([...new Set(faults)].join("\n"));
}

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** A duration such as 12h or 90d, in milliseconds; null for any other text. `units` are the letters that may follow. */
export function parseDurationMs(text: string | undefined, units = "hd"): number | null {
  const [, count, unit = ""] = /^(\d{1,5})([mhdw])$/.exec(text ?? "") ?? [];
  return units.includes(unit) && count !== undefined ? Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS] : null;
}

/** The time of a duration ago, or from now, in RFC 3339. Any other text is left for the schema to check. */
export function parseTime(text: string | undefined, direction: "ago" | "from now"): string | undefined {
  const durationMs = parseDurationMs(text);
  if (durationMs === null) return text;
  return new Date(direction === "ago" ? Date.now() - durationMs : Date.now() + durationMs).toISOString();
}

/** The value of an option that takes a number from 1 to `max`. @throws UsageError */
export function parsePositiveInteger(text: string, option: string, max: number): number {
  const number = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw new UsageError(`${option}: Must be an integer from 1 to ${max}`);
  return number;
}

/** The value of `--limit`. @throws UsageError */
export function parseLimit(text: string): number {
  return parsePositiveInteger(text, "--limit", 999_999);
}
