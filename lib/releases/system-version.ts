import { z } from "zod";

/** A version of macOS or Windows, and of what is compared like one: numbers between dots. */
export const SystemVersion = z
  .string()
  .max(64)
  .regex(/^\d+(\.\d+)*$/, "Must be numbers between dots");

/** Where one system version stands to another, as for `sort`: missing numbers are 0. */
export function compareSystems(one: string, other: string): number {
  const [a, b] = [one.split(".").map(Number), other.split(".").map(Number)];
  const differences = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => (a[i] ?? 0) - (b[i] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}
