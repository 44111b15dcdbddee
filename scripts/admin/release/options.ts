import path from "node:path";
import { parseArgs } from "node:util";
import type { ReleaseFilter } from "../../../lib/admin/releases/select";
import { UsageError } from "../../command-line";

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>["options"]>;

export const text = { type: "string" } as const;
export const flag = { type: "boolean" } as const;

/** Options of every command. */
const COMMON_OPTIONS = { catalog: text, json: flag } as const;

/** Options that select releases. */
export const FILTER_OPTIONS = { product: text, platform: text, arch: text, channel: text, version: text } as const;

/** Resolves a path against the folder in which npm was called. */
export const resolveFromCaller = (file: string) => path.resolve(process.env.INIT_CWD ?? ".", file);

/**
 * Parses a command's arguments. A flag is negated by `--no-FLAG`.
 * @throws Error with an ERR_PARSE_ARGS code, which `runCommandLine` reports as a usage error
 */
export function parseOptions<T extends Options>(options: T, args: string[], allowPositionals: boolean) {
  const all = { ...COMMON_OPTIONS, ...options };
  return parseArgs({ args, options: all, allowPositionals, allowNegative: true, strict: true });
}

type FilterValues = { [name in keyof typeof FILTER_OPTIONS]?: string | undefined };

export function toFilter(
  { product, platform, arch, channel, version }: FilterValues,
  ids: string[] = [],
): ReleaseFilter {
  return { product, platform, architecture: arch, channel, version, ids };
}

/** @throws UsageError */
export function parsePercentage(input: string | undefined): number {
  const [, digits] = /^(\d{1,3}(?:\.\d)?) ?%?$/.exec(input ?? "") ?? [];
  if (digits === undefined || Number(digits) > 100)
    throw new UsageError("The rollout must be a number from 0 to 100, with at most one decimal.");
  return Number(digits);
}

/** @throws UsageError */
export function parseInteger(input: string | undefined, name: string): number | undefined {
  if (input !== undefined && !/^\d{1,9}$/.test(input)) throw new UsageError(`${name} must be an integer.`);
  return input === undefined ? undefined : Number(input);
}

const UNIT_MS = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Parses an age such as `12h`, `90d` or `8w`, in milliseconds. @throws UsageError */
export function parseAge(input: string | undefined): number | undefined {
  if (input === undefined) return undefined;
  const [, digits, unit] = /^(\d{1,5})([hdw])$/.exec(input) ?? [];
  if (digits === undefined)
    throw new UsageError("The age must be a number of hours, days or weeks, such as 12h or 90d.");
  return Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
