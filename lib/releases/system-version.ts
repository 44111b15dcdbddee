import { z } from "zod";

/** A version of macOS or Windows, and of what is compared like one: numbers between dots. */
export const SystemVersion = z
  .string()
  .max(64)
  .regex(/^\d+(\.\d+)*$/, "Must be numbers between dots");

/** Where one system version stands to another, as for `sort`: missing numbers are 0. */
export function compareSystemVersions(one: string, other: string): number {
  if (one === other) return 0;
  const [a, b] = [one.split("."), other.split(".")];
  for (let i = 0; i < a.length || i < b.length; i++) {
    const difference = Number(a[i] ?? 0) - Number(b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
