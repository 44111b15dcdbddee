import type { z } from "zod";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import type { Config } from "../../platform/config";
import { RouteResponse } from "../../platform/http-message";
import { AppleAppSiteAssociation, DigitalAssetLinks } from "./schema";

const FINGERPRINT = Array.from({ length: 32 }, (_, index) => (index + 160).toString(16).toUpperCase()).join(":");

/** The same response for an hour. @throws AppError not_found without apps */
function listApps<List>(apps: readonly unknown[], list: List): RouteResponse<List> {
  if (apps.length === 0) throw new AppError("not_found");
  return new RouteResponse(200, list, { "Cache-Control": "public, max-age=3600" });
}

/** Apple's list of the apps that share passkeys with this domain ("Supporting associated domains"). */
function appleAppSiteAssociation(apps: Config["AUTH_PASSKEY_APPLE_APPS"]): z.infer<typeof AppleAppSiteAssociation> {
  return { webcredentials: { apps: [...apps] } };
}

/** Android's list of the apps that share passkeys with this domain (Google, "Digital Asset Links"). */
function digitalAssetLinks(apps: Config["AUTH_PASSKEY_ANDROID_APPS"]): z.infer<typeof DigitalAssetLinks> {
  return apps.map(({ packageName, fingerprint }) => ({
    relation: ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"],
    target: { namespace: "android_app", package_name: packageName, sha256_cert_fingerprints: [fingerprint] },
  }));
}

export const passkeyDomainOperations = {
  getAppleAppSiteAssociation: operation({
    id: "getAppleAppSiteAssociation",
    summary: "List the Apple apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_APPLE_APPS`, as Apple's systems read them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: AppleAppSiteAssociation,
      examples: { "One app": appleAppSiteAssociation(["ABCDE12345.com.example.app"]) },
    },
    run: ({ ctx: { config } }) =>
      listApps(config.AUTH_PASSKEY_APPLE_APPS, appleAppSiteAssociation(config.AUTH_PASSKEY_APPLE_APPS)),
  }),

  getDigitalAssetLinks: operation({
    id: "getDigitalAssetLinks",
    summary: "List the Android apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_ANDROID_APPS`, as Android reads them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: DigitalAssetLinks,
      examples: { "One app": digitalAssetLinks([{ packageName: "com.example.app", fingerprint: FINGERPRINT }]) },
    },
    run: ({ ctx: { config } }) =>
      listApps(config.AUTH_PASSKEY_ANDROID_APPS, digitalAssetLinks(config.AUTH_PASSKEY_ANDROID_APPS)),
  }),
};
