import type { NextAuthOptions } from "next-auth";

type Handler = (request: object, response: object) => Promise<void>;

/**
 * Loads next-auth's Pages Router handler, which takes a plain request and response. The App Router handler works only
 * inside a request that Next serves. Loaded at the first use, because few starts need it at once.
 */
export async function loadNextAuthHandler(): Promise<(options: NextAuthOptions) => Handler> {
  const { default: module } = await import("next-auth");
  // The package is CommonJS, so Node nests its default export in `default`.
  return ((module as { default?: unknown }).default ?? module) as (options: NextAuthOptions) => Handler;
}
