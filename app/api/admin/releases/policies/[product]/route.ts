import { defineRoute } from "@/lib/platform/http/route";
import { policyOperations } from "@/lib/releases/policy/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/policies/[product]", {
  PATCH: policyOperations.setReleasePolicy,
});
