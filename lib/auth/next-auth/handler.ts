import NextAuthModule, { type NextAuthOptions } from "next-auth";

type Handler = (request: object, response: object) => Promise<void>;

/**
 * next-auth's Pages Router handler: it takes a plain request and response. The App Router handler works only inside a
 * request that Next serves. The package is CommonJS: Node puts its default export one level down.
 */
export const nextAuthHandler = ((NextAuthModule as { default?: unknown }).default ?? NextAuthModule) as (
  options: NextAuthOptions,
) => Handler;
