import { z } from "zod";
import { type Input, operation } from "../../operation";
import { isOwnOriginRequired, toCall } from "./call-from-request";
import { NEXT_AUTH_ACTIONS } from "./described-actions";
import { finishNextAuth, respondNextAuth } from "./respond";

const Params = z.object({ nextauth: z.array(z.string()) });

const shared = {
  description: "See each action.",
  writes: "raw",
  params: Params,
  response: { status: 200, schema: null },
  run: async (input: Input<z.infer<typeof Params>>) =>
    finishNextAuth(input.ctx, input.request, await respondNextAuth(input.ctx, toCall(input))),
} as const;

export const nextAuthOperations = {
  readNextAuth: operation({
    ...shared,
    id: "readNextAuth",
    summary: "next-auth: session, csrf, providers and pages",
    describedAs: NEXT_AUTH_ACTIONS,
  }),

  postNextAuth: operation({
    ...shared,
    id: "postNextAuth",
    summary: "next-auth: sign in, sign out",
    bodyFormat: ["form", "json"],
    body: z.record(z.string(), z.unknown()),
    isBodyOptional: true,
    isOwnOriginRequired,
    describedAs: {},
  }),
};
