import { AppError } from "../../errors";
import { electron } from "./electron";
import { release } from "./release";
import { sparkle } from "./sparkle";
import { squirrel } from "./squirrel";
import { tauri } from "./tauri";
import type { VersionFormat } from "./version-format";

const FORMATS: ReadonlyMap<string, VersionFormat> = new Map(
  [electron, tauri, squirrel, sparkle].map((feed) => [feed.name, feed]),
);

/** Finds the feed that `format=` names, case-insensitively; by default this service's own. @throws AppError invalid_query */
export function findFormat(format: string | undefined): VersionFormat {
  if (format === undefined) return release;
  const feed = FORMATS.get(format.toLowerCase());
  if (feed) return feed;
  const names = [...FORMATS.keys()];
  const detail = `Must be one of ${names.join(", ")}`;
  throw new AppError("invalid_query", {
    errors: [{ pointer: "?format", code: "invalid_value", detail }],
    fields: { allowed: { format: names } },
  });
}
