import NextAuthModule, { type NextAuthOptions } from "next-auth";

type Handler = (request: object, response: object) => Promise<void>;

/**
 * next-auth's Pages Router handler, which takes a plain request and response. The App Router handler works only inside a
 * request that Next serves. The package is CommonJS, so Node nests its default export in `default`.
 */
export const nextAuthHandler = ((NextAuthModule as { default?: unknown }).default ?? NextAuthModule) as (
  options: NextAuthOptions,
) => Handler;
