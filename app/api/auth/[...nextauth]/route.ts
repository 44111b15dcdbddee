import { z } from "zod";
import { isOwnOriginRequired, toCall } from "@/lib/auth/next-auth/call-from-request";
import { finishNextAuth, respondNextAuth } from "@/lib/auth/next-auth/respond";
import { endpoint, type Input } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

const params = z.object({ nextauth: z.array(z.string()) });
const body = z.record(z.string(), z.unknown());
const handle = async (input: Input<z.infer<typeof params>>) =>
  finishNextAuth(input.ctx, input.request, await respondNextAuth(input.ctx, toCall(input)));
const shared = { writes: "raw", params, responses: { 200: null }, handle } as const;
const posted = { reads: ["form", "json"], body, isBodyOptional: true, isOwnOriginRequired } as const;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/[...nextauth]", {
  GET: endpoint({ ...shared, summary: "next-auth: session, csrf, providers and pages" }),
  POST: endpoint({ ...shared, ...posted, summary: "next-auth: sign in, sign out" }),
});
