import { z } from "zod";
import { callerOf } from "@/lib/auth/caller";
import { answerNextAuth } from "@/lib/auth/next-auth/answer";
import { nextAuthCall, nextAuthResponse } from "@/lib/http/next-auth";
import { defineRoute, endpoint, type PublicInput } from "@/lib/http/route";

const params = z.object({ nextauth: z.array(z.string()) });
type Params = z.infer<typeof params>;

const handle = async ({ ctx, request, params, raw, address }: PublicInput<Params>) => {
  const call = nextAuthCall(ctx, request, params.nextauth, raw);
  return nextAuthResponse(
    ctx,
    request,
    await answerNextAuth(ctx, { ...call, caller: callerOf(ctx, request, address) }),
  );
};

const shared = { writes: "raw", params, responses: { 200: null }, handle } as const;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/[...nextauth]", {
  GET: endpoint({ ...shared, summary: "next-auth: session, csrf, providers and pages" }),
  POST: endpoint({ ...shared, summary: "next-auth: sign in, sign out", body: "raw" }),
});
