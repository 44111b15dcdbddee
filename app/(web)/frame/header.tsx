import type { Config } from "@/lib/platform/config";
import type { Locale } from "@/lib/platform/locale";
import type { Principal } from "@/lib/principal";
import { AccountMenu } from "./account-menu";
import { Logo } from "./logo";
import { FRAME } from "./texts";

type Props = {
  config: Pick<Config, "BRAND_NAME" | "BRAND_LOGO" | "BRAND_LOGO_DARK">;
  visitor: Principal["account"] | null;
  locale: Locale;
  isForEverybody?: boolean | undefined;
};

/** The company's name, the main pages, and who is signed in. */
export function SiteHeader({ config, visitor, locale, isForEverybody }: Props) {
  const texts = FRAME[locale];
  return (
    <header className="site-header">
      <a className="brand" href="/">
        <Logo config={config} />
        {config.BRAND_NAME}
      </a>
      <nav aria-label={texts.main}>
        <a href="/download">{texts.download}</a>
        <AccountMenu
          visitor={visitor && { name: visitor.name, email: visitor.email, isOperator: visitor.role !== "user" }}
          isForEverybody={isForEverybody}
        />
      </nav>
    </header>
  );
}
