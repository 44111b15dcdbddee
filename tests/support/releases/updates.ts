import { parseUpdateInfo } from "electron-updater/out/providers/Provider.js";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";

/** The base URL that the updaters of the product core are configured with. */
export const STABLE = "/api/updates/core/stable";

/** A feed of electron-updater's generic provider, as electron-updater parses it. */
export async function getYml(name: string, headers: Record<string, string> = {}, base = STABLE) {
  const response = await get(`${base}/${name}`, { headers });
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${await response.text()}`);
  return parseUpdateInfo(await response.text(), name, new URL(response.url || BASE_URL));
}
