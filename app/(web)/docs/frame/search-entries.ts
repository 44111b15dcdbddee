import { ERRORS, type ErrorCode } from "@/lib/errors";
import { api } from "../reference/document";
import { GROUPS } from "../reference/groups";
import type { SearchEntry } from "./search";

/** What the search finds: operations by their path, title and fields; schemas; error codes. */
export const SEARCH_ENTRIES: SearchEntry[] = [
  ...GROUPS.flatMap(({ slug, operations }) =>
    operations.map(({ method, path, summary, operationId }) => ({
      title: `${method} ${path}`,
      text: summary,
      href: `/docs/${slug}#${operationId}`,
    })),
  ),
  ...Object.entries(api.components.schemas).map(([name, { properties = {} }]) => ({
    title: name,
    text: `Schema: ${Object.keys(properties).join(", ")}`,
    href: `/docs/schemas#schema-${name}`,
  })),
  ...(Object.keys(ERRORS) as ErrorCode[]).map((code) => ({
    title: code,
    text: `${ERRORS[code][0]}: ${ERRORS[code][1]}`,
    href: `/docs/errors#${code}`,
  })),
];
