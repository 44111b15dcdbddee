import { apiStore } from "@/scripts/homeport/release/api-store";
import type { ReleaseStore } from "@/scripts/homeport/release/release-store";
import { createAdminApi } from "@/scripts/homeport/transport/admin-api";
import { clientOf, type HttpRequest } from "@/scripts/homeport/transport/http-client";
import { call } from "@/tests/support/api";

const NO_UPLOAD_IDS = { get: async () => null, set: async () => {}, delete: async () => {} };

/** The releases as a command far from the service has them. The responses to requests that `isLost` names do not arrive. */
export function storeOf(
  { key: token }: { key: string },
  isLost: (request: HttpRequest) => boolean | Promise<boolean> = () => false,
): ReleaseStore {
  const send = async (request: HttpRequest) => {
    const { method, path, headers = {}, body } = request;
    const response = await call(method, path, { token, headers, ...(body !== undefined && { body }) });
    if (await isLost(request)) throw new TypeError("fetch failed");
    return response;
  };
  return apiStore(createAdminApi(clientOf("https://updates.example.com", send, 1)), NO_UPLOAD_IDS, true);
}
