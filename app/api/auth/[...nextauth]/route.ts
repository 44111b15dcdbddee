import { z } from "zod";
import { answerNextAuth } from "@/lib/auth/next-auth/answer";
import { endpoint, type Input } from "@/lib/http/endpoint";
import { nextAuthCall, nextAuthResponse } from "@/lib/http/next-auth";
import { defineRoute } from "@/lib/http/route";

const params = z.object({ nextauth: z.array(z.string()) });
type Params = z.infer<typeof params>;

const handle = async ({ ctx, request, params, bytes, caller }: Input<Params>) => {
  const call = nextAuthCall(ctx, request, params.nextauth, bytes);
  return nextAuthResponse(ctx, request, await answerNextAuth(ctx, { ...call, caller }));
};
const shared = { writes: "raw", params, responses: { 200: null }, handle } as const;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/[...nextauth]", {
  GET: endpoint({ ...shared, summary: "next-auth: session, csrf, providers and pages" }),
  POST: endpoint({ ...shared, summary: "next-auth: sign in, sign out", reads: "raw" }),
});
