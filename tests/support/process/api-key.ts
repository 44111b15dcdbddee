import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { bearer, operatorKeyOf, type Service } from "./service";

/** Creates an API key of a service on its embedded database. */
export async function createKeyOf(service: Service, scope: string): Promise<string> {
  const key = { name: "CI", scopes: [scope] };
  const created = await service.post("/api/admin/keys", key, bearer(await operatorKeyOf(service)));
  if (created.status !== 201) throw new Error(`The key was not created: ${await created.text()}`);
  return ((await created.json()) as CreatedKey).key;
}
