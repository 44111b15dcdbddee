import { readNewestVersions } from "@/lib/overview/read-newest-versions";
import { readOverviewDays } from "@/lib/overview/read-overview-days";
import { readQueues } from "@/lib/overview/read-queues";
import { checkHealth } from "@/lib/platform/http/health";
import { readUpdateState } from "@/lib/platform/update-check";
import { listBillingProducts } from "@/lib/subscriptions/admin/billing-products";
import { Notice } from "../(web)/components/notice";
import { Adoption, Trends } from "./charts";
import { PageHead } from "./components/headings";
import { Ago } from "./components/time";
import { Figures } from "./figures";
import { consolePage } from "./frame/console-page";
import { hasRole } from "./frame/operator";
import { Health } from "./health";

// A layout's template is for the pages below it, not for the one beside it.
export const metadata = { title: { absolute: "Overview – Console" } };

export default consolePage({}, async ({ ctx, operator }) => {
  const [health, updates, queues, days, versions, { products }] = await Promise.all([
    checkHealth(ctx, { probe: "ready" }),
    readUpdateState(ctx),
    readQueues(ctx),
    readOverviewDays(ctx),
    readNewestVersions(ctx),
    listBillingProducts(ctx, { withoutEntitlement: "true" }),
  ]);
  return (
    <>
      <PageHead
        title="Overview"
        lead={
          days.countedAt ? (
            <>
              Days are in UTC. Counted <Ago at={days.countedAt} />.
            </>
          ) : (
            "Nothing is counted yet. The first figures appear within five minutes."
          )
        }
      />
      {hasRole(operator, "admin") && !operator.hasSecondFactor && (
        <Notice kind="info">
          Your account may change everything here, and has no second factor. Add an{" "}
          <a href="/account/factors/totp">authenticator app</a> or a <a href="/account/passkeys/add">passkey</a>.
        </Notice>
      )}
      <Health
        health={health}
        updates={updates}
        queues={queues}
        mailer={ctx.mailer.mode}
        isPushConfigured={ctx.push !== null}
        productsWithoutEntitlement={products.length}
      />
      <Figures days={days} />
      <Trends days={days} />
      <Adoption versions={versions} />
    </>
  );
});
