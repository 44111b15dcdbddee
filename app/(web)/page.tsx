import { headers } from "next/headers";
import { pageContext } from "@/lib/auth/visitor";
import { productName } from "@/lib/platform/brand";
import { type InstallerGroup, listInstallers } from "@/lib/releases/installers";
import { buildName, type Computer, computerOf, offeredTo, PLATFORM_NAMES } from "./download/platform";
import { currentVisitor, textsOf } from "./language/page-language";
import { defineTexts } from "./language/texts";

const TEXTS = defineTexts({
  en: {
    lead: "Downloads and updates for our apps, and your account.",
    apps: "Our apps",
    download: (name: string, platform: string) => `Download ${name} for ${platform}`,
    forPlatforms: (platforms: string[]) => `For ${new Intl.ListFormat("en").format(platforms)}`,
    allDownloads: "All downloads, release notes and checksums",
    account: "Your account",
    signedIn: "Your subscription, devices and sign-in. Export or delete your data.",
    signedOut: "Sign in to see your subscription and devices, and to change how you sign in.",
    open: "Open your account",
    signIn: "Sign in",
    register: "Create account",
  },
  de: {
    lead: "Downloads und Updates für unsere Apps, und Ihr Konto.",
    apps: "Unsere Apps",
    download: (name, platform) => `${name} für ${platform} herunterladen`,
    forPlatforms: (platforms) => `Für ${new Intl.ListFormat("de").format(platforms)}`,
    allDownloads: "Alle Downloads, Versionshinweise und Prüfsummen",
    account: "Ihr Konto",
    signedIn: "Ihr Abonnement, Ihre Geräte und Ihre Anmeldung. Exportieren oder löschen Sie Ihre Daten.",
    signedOut: "Melden Sie sich an, um Ihr Abonnement und Ihre Geräte zu sehen und Ihre Anmeldung zu ändern.",
    open: "Konto öffnen",
    signIn: "Anmelden",
    register: "Konto erstellen",
  },
});
type PageTexts = (typeof TEXTS)["en"];

export default async function Page() {
  const ctx = pageContext();
  const texts = await textsOf(TEXTS);
  const groups = (listInstallers(ctx) ?? []).filter(({ latest }) => latest !== null);
  const products = [...new Set(groups.map(({ product }) => product))];
  const computer = computerOf(await headers());
  return (
    <>
      <h1>{ctx.config.BRAND_NAME}</h1>
      <p className="lead">{texts.lead}</p>
      {products.length > 0 && (
        <section aria-labelledby="apps">
          <h2 id="apps">{texts.apps}</h2>
          <ul className="tiles">
            {products.map((product) => (
              <li key={product}>
                <App
                  name={productName(ctx.config, product)}
                  groups={groups.filter((group) => group.product === product)}
                  computer={computer}
                  texts={texts}
                />
              </li>
            ))}
          </ul>
          <p>
            <a href="/download">{texts.allDownloads}</a>
          </p>
        </section>
      )}
      <AccountCard texts={texts} />
    </>
  );
}

type AppProps = { name: string | null; groups: InstallerGroup[]; computer: Computer | null; texts: PageTexts };

/** A product with its newest installer for the visitor's computer. */
function App({ name: given, groups, computer, texts }: AppProps) {
  const offered = offeredTo(computer, groups);
  const platforms = [...new Set(groups.map((group) => PLATFORM_NAMES[group.platform]))];
  const id = groups[0]?.product ?? "";
  const name = given ?? id;
  return (
    <>
      <h3 className={given ? undefined : "product"}>{name}</h3>
      <p>{texts.forPlatforms(platforms)}</p>
      {offered.groups.map((group) => (
        <p key={group.architecture}>
          <a className={offered.isSure ? "button" : "button quiet"} href={group.latest?.href}>
            {texts.download(name, buildName(group))}
          </a>
        </p>
      ))}
    </>
  );
}

async function AccountCard({ texts }: { texts: PageTexts }) {
  const visitor = await currentVisitor();
  return (
    <section className="card" aria-labelledby="account">
      <h2 id="account">{texts.account}</h2>
      <p>{visitor ? texts.signedIn : texts.signedOut}</p>
      <div className="actions">
        {visitor ? (
          <a className="button" href="/account">
            {texts.open}
          </a>
        ) : (
          <>
            <a className="button" href="/sign-in">
              {texts.signIn}
            </a>
            <a className="button quiet" href="/register">
              {texts.register}
            </a>
          </>
        )}
      </div>
    </section>
  );
}
