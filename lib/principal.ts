import { z } from "zod";
import type { Account, AccountRole, Session } from "./platform/db/generated/client";
import type { Locale } from "./platform/locale";

/** The account and the session that a request acts as. `via` is how the request carried the session's token. */
export type Principal = {
  account: Pick<Account, "id" | "email" | "name" | "image" | "role" | "locale" | "disabledAt" | "sessionEpoch">;
  session: Pick<Session, "id" | "transport" | "authenticatedAt" | "authenticatedFrom" | "aal" | "amr" | "expiresAt"> & {
    via: "bearer" | "cookie";
  };
};

/**
 * The releases that a caller may read and change: those of these products, and on one channel alone if it is named. Without
 * it, all.
 */
export type ReleaseAccess = { products: readonly string[]; channel: string | null };

/** A program that an API key authenticates. Without `products`, its scopes are for all of them. */
export type KeyPrincipal = {
  key: { id: string; name: string; scopes: readonly string[]; products: readonly string[] };
};

/** The build that a CI job publishes, as its ID token says. `runUrl`: null if the token does not say it. */
export type BuildSource = { repository: string; commit: string; ref: string; runUrl: string | null };

/** A CI job, by the access token that it got for its ID token. `source`: null if the ID token does not say it. */
export type PublisherPrincipal = {
  publisher: { id: string; name: string; product: string; channel: string | null; source: BuildSource | null };
};

/** Who runs a command on the service's machine, as the audit trail names them. */
export type OperatorName = "operator" | `operator:${string}`;
/** A person at the service's machine who can read its data folder. May do everything that an admin may. */
export type LocalOperatorPrincipal = { operator: OperatorName };

/** Everybody who may act as an operator: an account with a role, a program, a CI job, and a person at the service's machine. */
export type AnyPrincipal = Principal | KeyPrincipal | PublisherPrincipal | LocalOperatorPrincipal;

/** The name of a product, as the release catalog has it. */
export const ProductName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "Must be a lower-case name of at most 64 characters");

/** What an API key may do. `RESOURCE:write` and `RESOURCE:send` include `RESOURCE:read`. */
export const Scope = z.enum([
  "accounts:read",
  "accounts:write",
  "audit:read",
  "billing:read",
  "billing:write",
  "mail:read",
  "mail:write",
  "push:read",
  "push:send",
  "releases:read",
  "releases:write",
  "webhooks:read",
  "webhooks:write",
]);
export type Scope = z.infer<typeof Scope>;

/** What a route requires of its caller, beyond a session. */
export type AccessRule = {
  /** The API keys that the route accepts: those with this scope. Without it, none. */
  scope?: Scope | undefined;
  /** The account's role, at least: support may do what a user may, and an admin everything. */
  role?: AccountRole | undefined;
  /** The session's assurance level, at least (NIST SP 800-63B-4). */
  aal?: 1 | 2 | undefined;
  /** The maximum number of seconds since the session's user was authenticated. */
  maxAgeSeconds?: number | undefined;
  /** Whether the session must have been authenticated recently, at its account's level: see `requireStepUp`. */
  stepUp?: true | undefined;
};

/**
 * The client of a request. `ip` is its IPv4 address, its IPv6 network (/64) or "unknown"; `userAgent` has at most 256
 * characters; `deviceId` comes from the device cookie, or is new (`isNewDevice`) if there is none; `locale` is the one of our
 * languages that the client prefers.
 */
export type Caller = {
  ip: string;
  userAgent: string | null;
  deviceId: string;
  isNewDevice?: true;
  locale?: Locale | null;
};

/**
 * Who acted: a person signed in to the account, an operator with another account by its id, an operator at the command
 * line, with the name of their user, an API key or a publisher by its id, or the service itself.
 */
export type Actor =
  | "account"
  | "operator"
  | "service"
  | `account:${string}`
  | `operator:${string}`
  | `key:${string}`
  | `publisher:${string}`;

/** Where an action comes from, as the audit trail has it. */
export type EventSource = Pick<Caller, "ip" | "userAgent">;

/** Who acts as an operator: a signed-in account with a role, an API key, or a user at the command line. */
export type Operator = {
  actor: Actor;
  /** The account that acts; null if none does. */
  accountId: string | null;
  source: EventSource;
  releaseAccess?: ReleaseAccess;
  /** Of a CI job. */
  publisher?: PublisherPrincipal["publisher"];
};
