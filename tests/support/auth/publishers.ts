import { addPublisher } from "@/lib/auth/publishers/publishers";
import { NewPublisher } from "@/lib/auth/publishers/schema";
import type { Options } from "@/tests/support/api";
import { BASE_URL, ctx } from "@/tests/support/context";
import { OPERATOR } from "./api-keys";
import type { CiIssuer } from "./ci-issuer";
import { postOAuth } from "./oauth-client";

/** Trusts the jobs of acme/app as `CiIssuer` runs them at GitHub, with changed fields. `undefined` removes one. */
export function newPublisher({ origin }: Pick<CiIssuer, "origin">, change: object = {}) {
  const usual = { type: "github", repository: "acme/app", workflow: "release.yml", issuer: origin, product: "core" };
  const fields = Object.entries({ ...usual, ...change }).filter(([, value]) => value !== undefined);
  return addPublisher(ctx(), OPERATOR, NewPublisher.parse(Object.fromEntries(fields)));
}

/** Exchanges the ID token of a job. */
export function exchangeJobToken(idToken: string, change: Record<string, string> = {}, options: Options = {}) {
  const usual = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: idToken,
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
  };
  return postOAuth("token", { ...usual, ...change }, options);
}

/** Adds a publisher. Returns it with the access token of one of its jobs, as `key`. */
export async function newPublisherJob(issuer: CiIssuer, change: object = {}, claims: Record<string, unknown> = {}) {
  const publisher = await newPublisher(issuer, change);
  const response = await exchangeJobToken(issuer.token(BASE_URL, claims), { product: publisher.product });
  const { access_token: key } = (await response.json()) as { access_token?: string };
  if (key === undefined) throw new Error(`The token was refused with ${response.status}`);
  return { ...publisher, key };
}
