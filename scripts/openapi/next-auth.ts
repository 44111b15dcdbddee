import type { z } from "zod";
import type { ErrorCode } from "../../lib/errors";
import { type Declared, examplesOf, type OperationDetails } from "./operation";

/** One action of next-auth's catch-all, with its declaration: the route declares them all as one. */
export type NextAuthAction = { declaration: Declared; details: OperationDetails };

/** The errors of every POST, which may be a form or JSON. */
const POSTED = ["origin_not_allowed", "malformed_json", "unsupported_media_type", "validation_failed"] as const;

export const redirect = (description: string) => ({ description, headers: ["Location", "Set-Cookie"] as const });

/** A form, as browsers post it. next-auth/react posts the same fields as JSON too. */
export function form(schema: z.ZodType, examples: Record<string, unknown>) {
  const content = { schema, examples: examplesOf(examples) };
  return { required: true, content: { "application/x-www-form-urlencoded": content, "application/json": content } };
}

export function get(
  operationId: string,
  summary: string,
  schema: z.ZodType,
  details: Omit<OperationDetails, "operationId">,
): NextAuthAction {
  return { declaration: { summary, responses: { 200: schema } }, details: { operationId, ...details } };
}

/** A redirect to one of the service's pages. */
export function page(operationId: string, summary: string, to: string, errors: ErrorCode[] = []): NextAuthAction {
  return {
    declaration: { summary, errors, responses: { 302: null } },
    details: {
      operationId,
      description: `Redirects to \`${to}\`.`,
      responses: { 302: redirect("The redirect to the page.") },
    },
  };
}

export function post(
  summary: string,
  errors: ErrorCode[],
  responses: Declared["responses"],
  details: OperationDetails,
): NextAuthAction {
  return { declaration: { summary, reads: "raw", errors: [...POSTED, ...errors], responses }, details };
}
