import { z } from "zod";

/** A version of macOS or Windows, or a build version: numbers separated by dots. */
export const SystemVersion = z
  .string()
  .max(64)
  .regex(/^\d+(\.\d+)*$/, "Must be numbers separated by dots");

/** Compares two system versions as `Array.prototype.sort` expects. Missing numbers count as 0. */
export function compareSystemVersions(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [a.split("."), b.split(".")];
  for (let i = 0; i < left.length || i < right.length; i++) {
    const difference = Number(left[i] ?? 0) - Number(right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
