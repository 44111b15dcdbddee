import { AppError } from "../../errors";
import { electron } from "./electron";
import { release } from "./release";
import { sparkle } from "./sparkle";
import { squirrel } from "./squirrel-mac";
import { tauri } from "./tauri";
import type { VersionFormat } from "./version-format";

const FORMATS: ReadonlyMap<string, VersionFormat> = new Map(
  [electron, tauri, squirrel, sparkle].map((format) => [format.name, format]),
);

/** Finds the format that `format=` names, case-insensitively; by default this service's own. @throws AppError invalid_query */
export function findFormat(name: string | undefined): VersionFormat {
  if (name === undefined) return release;
  const format = FORMATS.get(name.toLowerCase());
  if (format) return format;
  const names = [...FORMATS.keys()];
  const detail = `Must be one of ${names.join(", ")}`;
  throw new AppError("invalid_query", {
    errors: [{ pointer: "?format", code: "invalid_value", detail }],
    fields: { allowed: { format: names } },
  });
}
