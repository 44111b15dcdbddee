import type { ReactNode } from "react";
import type { z } from "zod";
import { AppError, isAppError } from "@/lib/errors";
import { fieldMessage } from "@/lib/platform/field-message";
import { isStorableText } from "@/lib/platform/storable";

/** Query parameters, or messages for those that the page does not accept, by their names. */
export type Fields = Record<string, string>;

/**
 * Renders a page from its query. If it does not accept a parameter, renders it without that one, and returns why: the field
 * of the parameter shows it. @throws what `render` throws, unless it is invalid_query with the names of parameters
 */
export async function renderQuery<Query>(
  schema: z.ZodType<Query> | undefined,
  given: Fields,
  render: (query: Query) => Promise<ReactNode>,
): Promise<{ content: ReactNode; errors: Fields }> {
  try {
    return { content: await render(parseFields(schema, given)), errors: {} };
  } catch (error) {
    const errors = queryErrorsOf(error, given);
    if (Object.keys(errors).length === 0) throw error;
    const accepted = Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(errors, name)));
    return { content: await render(parseFields(schema, accepted)), errors };
  }
}

/** Says that a query parameter is not acceptable, although its form is. */
export function invalidParameter(name: string, detail: string): AppError {
  return new AppError("invalid_query", { errors: [{ pointer: `?${name}`, code: "invalid", detail }] });
}

/** @throws AppError invalid_query */
function parseFields<Query>(schema: z.ZodType<Query> | undefined, given: Fields): Query {
  const unstorable = Object.keys(given).filter((name) => !isStorableText(given[name] ?? ""));
  if (unstorable.length > 0) {
    const detail = "Must not contain NUL or lone surrogates";
    const errors = unstorable.map((name) => ({ pointer: `?${name}`, code: "invalid_characters", detail }));
    throw new AppError("invalid_query", { errors });
  }
  const parsed = schema?.safeParse(given, { error: fieldMessage });
  if (parsed?.success !== false) return parsed?.data as Query;
  const errors = parsed.error.issues.map(({ path, code, message: detail }) => {
    return { pointer: `?${path.join(".")}`, code, detail };
  });
  throw new AppError("invalid_query", { errors });
}

function queryErrorsOf(error: unknown, given: Fields): Fields {
  if (!isAppError(error) || error.code !== "invalid_query") return {};
  const pairs = (error.extras.errors ?? []).map(({ pointer, detail }) => [pointer.slice(1), detail] as const);
  return Object.fromEntries(pairs.filter(([name]) => Object.hasOwn(given, name)).reverse());
}
