import { LegendDisplayMode, LegendPlacement, VizLegendOptionsBuilder } from "@grafana/grafana-foundation-sdk/common";
import {
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder } from "@grafana/grafana-foundation-sdk/timeseries";
import { type Panel, ROWS } from "./panels";

const DATA_SOURCE = { type: "prometheus", uid: "$datasource" };
/** Of 24 columns. */
const WIDTH = 8;
const HEIGHT = 7;

/** The JSON of deploy/grafana/homeport.json, to import into Grafana. */
export function dashboardJson(): string {
  const job = new QueryVariableBuilder("job")
    .label("Job")
    .datasource(DATA_SOURCE)
    .query("label_values(homeport_http_request_duration_seconds_count, job)");
  const dashboard = new DashboardBuilder("Homeport")
    .uid("homeport")
    .refresh("30s")
    .time({ from: "now-6h", to: "now" })
    .withVariable(new DatasourceVariableBuilder("datasource").label("Data source").type("prometheus"))
    .withVariable(job);
  let id = 1;
  for (const { title, panels } of ROWS) {
    dashboard.withRow(new RowBuilder(title).id(id++));
    for (const panel of panels) dashboard.withPanel(toPanel(panel).id(id++));
  }
  return `${JSON.stringify(dashboard.build(), null, 2)}\n`;
}

function toPanel({ title, unit, description, queries }: Panel): PanelBuilder {
  const legend = new VizLegendOptionsBuilder()
    .showLegend(true)
    .displayMode(LegendDisplayMode.List)
    .placement(LegendPlacement.Bottom);
  const panel = new PanelBuilder().title(title).description(description).unit(unit).min(0).datasource(DATA_SOURCE);
  panel.legend(legend).span(WIDTH).height(HEIGHT);
  for (const [i, [name, query]] of Object.entries(queries).entries()) {
    const refId = String.fromCharCode("A".charCodeAt(0) + i);
    panel.withTarget(new DataqueryBuilder().refId(refId).expr(query).legendFormat(name).datasource(DATA_SOURCE));
  }
  return panel;
}
