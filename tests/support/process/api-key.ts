import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { operatorKeyOf, type Service } from "./service";

/** Creates an API key of a service on its embedded database. */
export async function createKeyOf(service: Service, scope: string): Promise<string> {
  const headers = { authorization: `Bearer ${await operatorKeyOf(service)}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "CI", scopes: [scope] });
  const created = await service.fetch("/api/admin/keys", { method: "POST", headers, body });
  if (created.status !== 201) throw new Error(`The key was not created: ${await created.text()}`);
  return ((await created.json()) as CreatedKey).key;
}
