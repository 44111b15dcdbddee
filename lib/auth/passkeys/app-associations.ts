import type { z } from "zod";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import type { AppleAppSiteAssociation, DigitalAssetLinks } from "./schema";

/**
 * Apple's list of the apps that share passkeys with this domain ("Supporting associated domains").
 * @throws AppError not_found if none is configured
 */
export function appleAppSiteAssociation({
  AUTH_PASSKEY_APPLE_APPS: apps,
}: Pick<Config, "AUTH_PASSKEY_APPLE_APPS">): z.infer<typeof AppleAppSiteAssociation> {
  if (apps.length === 0) throw new AppError("not_found");
  return { webcredentials: { apps: [...apps] } };
}

/**
 * Android's list of the apps that share passkeys with this domain (Google, "Digital Asset Links").
 * @throws AppError not_found if none is configured
 */
export function digitalAssetLinks({
  AUTH_PASSKEY_ANDROID_APPS: apps,
}: Pick<Config, "AUTH_PASSKEY_ANDROID_APPS">): z.infer<typeof DigitalAssetLinks> {
  if (apps.length === 0) throw new AppError("not_found");
  return apps.map(({ packageName, fingerprint }) => ({
    relation: ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"],
    target: { namespace: "android_app", package_name: packageName, sha256_cert_fingerprints: [fingerprint] },
  }));
}
