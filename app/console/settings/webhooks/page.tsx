import { listEndpoints } from "@/lib/webhooks/endpoints";
import { webhookOperations } from "@/lib/webhooks/operations";
import type { Endpoint } from "@/lib/webhooks/schema";
import { PageHead, Section } from "../../components/headings";
import { EmptyState } from "../../components/states";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { hasRole } from "../../frame/operator";
import { NewEndpointFields } from "./endpoint-fields";
import { EndpointLink, EndpointStatus } from "./endpoint-parts";

export const metadata = { title: "Webhooks" };

const COLUMNS: Column<Endpoint>[] = [
  { head: "Endpoint", isRowHead: true, cell: (endpoint) => <EndpointLink endpoint={endpoint} /> },
  { head: "Status", cell: (endpoint) => <Status endpoint={endpoint} /> },
  { head: "Events", cell: ({ eventTypes }) => eventTypes.join(", ") },
  { head: "Created", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

export default consolePage(
  {
    done: { deleted: "The endpoint was deleted, with its deliveries." },
    ownForms: [webhookOperations.createWebhookEndpoint],
  },
  async ({ ctx, operator, flash }) => {
    const { endpoints } = await listEndpoints(ctx);
    const isAdmin = hasRole(operator, "admin");
    return (
      <>
        <PageHead
          title="Webhooks"
          lead="The service sends HTTP requests to your other systems when something happens, signed as Standard Webhooks says."
        />
        <List
          title="Endpoints"
          caption="Webhook endpoints, the newest first"
          columns={COLUMNS}
          rows={endpoints}
          empty={
            <EmptyState title="There are no endpoints yet">
              {isAdmin ? "Create the first one below." : "An admin can create one."}
            </EmptyState>
          }
        />
        {isAdmin && (
          <Section title="Create an endpoint">
            <NewEndpointFields flash={flash} />
          </Section>
        )}
      </>
    );
  },
);

function Status({ endpoint: { status, failingSince } }: { endpoint: Endpoint }) {
  return (
    <div>
      <EndpointStatus status={status} />
      {status === "failing" && (
        <div className="muted">
          since <Ago at={failingSince} />
        </div>
      )}
    </div>
  );
}
