//! Congestion controllers: from what a file says to parameters in range.

use ackclock_cc::{ClassicConfig, ControllerConfig, CubicConfig, CubicVariant, FixedConfig, RenoConfig};
use ackclock_tcp::TcpConfig;
use ackclock_units::Bytes;

use super::Checker;
use super::model::set_ecn;
use super::tcp::{Layer, MAX_WINDOW, amount};
use crate::file::{Controller, CubicParameters, RenoParameters, TcpTable};
use crate::tree::FieldPath;

/// The least C that Linux's CUBIC can hold, segments/s^3.
const LINUX_PRECISION: f64 = 1.0 / 1024.0;

impl Checker<'_, '_> {
    /// An endpoint by itself, outside any network.
    pub(crate) fn endpoint(&mut self, table: &TcpTable, controller: &Controller) -> (TcpConfig, ControllerConfig) {
        if matches!(controller, Controller::Policy(_)) {
            let remedy = "use another controller; a policy runs in a scenario";
            self.report(&FieldPath::of("controller"), "is a policy, whose file is not read here", remedy);
        }
        let layers = [Layer { path: FieldPath::of("tcp"), table: table.clone() }];
        let profile = self.profile(&layers);
        let mut tcp = self.tcp(&layers, controller.recovery());
        set_ecn(&mut tcp, controller, &layers);
        let controller = controller.over(&profile.reno, &profile.cubic);
        let controller = self.controller(&controller, tcp.mss, &FieldPath::of("controller"));
        (tcp, controller)
    }

    pub(super) fn controller(&mut self, controller: &Controller, mss: u32, path: &FieldPath) -> ControllerConfig {
        match controller {
            Controller::Tahoe(table) | Controller::Reno(table) | Controller::NewReno(table) => {
                ControllerConfig::Reno(self.reno(table, path))
            }
            Controller::Cubic(table) => ControllerConfig::Cubic(self.cubic(table, path)),
            Controller::Aimd(table) => ControllerConfig::Classic(ClassicConfig::Aimd(self.aimd(table, path))),
            Controller::Bic(table) => ControllerConfig::Classic(ClassicConfig::Bic(self.bic(table, path))),
            Controller::HighSpeed(table) => {
                ControllerConfig::Classic(ClassicConfig::HighSpeed(self.high_speed(table, path)))
            }
            Controller::Htcp(table) => {
                ControllerConfig::Classic(ClassicConfig::Htcp(super::classic_controllers::htcp(table)))
            }
            Controller::Hybla(table) => ControllerConfig::Classic(ClassicConfig::Hybla(self.hybla(table, path))),
            Controller::Illinois(table) => {
                ControllerConfig::Classic(ClassicConfig::Illinois(self.illinois(table, path)))
            }
            Controller::Scalable(table) => {
                ControllerConfig::Classic(ClassicConfig::Scalable(self.scalable(table, path)))
            }
            Controller::Veno(table) => ControllerConfig::Classic(ClassicConfig::Veno(self.veno(table, path))),
            Controller::Westwood(table) => {
                ControllerConfig::Classic(ClassicConfig::Westwood(self.westwood(table, path)))
            }
            Controller::Yeah(table) => ControllerConfig::Classic(ClassicConfig::Yeah(self.yeah(table, path))),
            Controller::Vegas(table) => ControllerConfig::Vegas(self.vegas(table, path)),
            Controller::VegasModified(table) => ControllerConfig::Vegas(self.vegas_modified(table, path)),
            Controller::VegasSkewTolerant(table) => ControllerConfig::Vegas(self.vegas_skew_tolerant(table, path)),
            Controller::Fast(table) => ControllerConfig::Fast(self.fast(table, path)),
            Controller::Ledbat(table) => ControllerConfig::Ledbat(self.ledbat(table, path)),
            Controller::LedbatPlusPlus(table) => ControllerConfig::LedbatPlusPlus(self.ledbat_plus_plus(table, path)),
            Controller::Copa(table) => ControllerConfig::Copa(self.copa(table, path)),
            Controller::Swift(table) => ControllerConfig::Swift(self.swift(table, path)),
            Controller::Policy(table) => self.policy(table, mss, path),
            Controller::Python(table) => self.python(table, path),
            Controller::External(table) => self.program(table, path),
            Controller::Fixed(table) => {
                let Some(window) = table.window else {
                    self.missing(&path.key("window"), "window = \"100 segments\"");
                    return ControllerConfig::Fixed(FixedConfig { window: Bytes(u64::from(mss)) });
                };
                let window = amount(window, mss);
                if window.0 < u64::from(mss) {
                    let remedy = format!("use at least \"1 segment\", {mss} bytes");
                    self.report(&path.key("window"), "is less than a segment, so nothing could be sent", remedy);
                } else if window > MAX_WINDOW {
                    self.report(&path.key("window"), "is more than any window", format!("use at most {MAX_WINDOW}"));
                }
                ControllerConfig::Fixed(FixedConfig { window })
            }
            Controller::Bbr(table) => ControllerConfig::Bbr(self.bbr(table, path)),
            Controller::Bbr3(table) => ControllerConfig::Bbr3(self.bbr3(table, path)),
            Controller::Dctcp(table) => ControllerConfig::Dctcp(self.dctcp(table, path)),
            Controller::Prague(table) => ControllerConfig::Prague(self.prague(table, path)),
            Controller::Allegro(table) => ControllerConfig::Allegro(self.allegro(table, path)),
            Controller::Vivace(table) => ControllerConfig::Vivace(self.vivace(table, path)),
            Controller::Siad(table) => ControllerConfig::Siad(self.siad(table, path)),
            Controller::DqnNewReno(table) => ControllerConfig::DqnNewReno(Box::new(self.dqn_newreno(table, path))),
            Controller::DqnCubic(table) => ControllerConfig::DqnCubic(Box::new(self.dqn_cubic(table, path))),
        }
    }

    fn reno(&mut self, table: &RenoParameters, path: &FieldPath) -> RenoConfig {
        let default = RenoConfig::default();
        self.check_betas(table.beta, table.beta_ecn, path);
        RenoConfig {
            increase: table.increase.map_or(default.increase, Into::into),
            beta: table.beta.unwrap_or(default.beta),
            beta_ecn: table.beta_ecn.or(default.beta_ecn),
            hystart: table.hystart.map_or(default.hystart, Into::into),
        }
    }

    fn cubic(&mut self, table: &CubicParameters, path: &FieldPath) -> CubicConfig {
        let default = match table.variant.map_or(CubicVariant::default(), Into::into) {
            CubicVariant::Rfc9438 => CubicConfig::default(),
            CubicVariant::Linux => CubicConfig::linux(),
        };
        let config = CubicConfig {
            variant: default.variant,
            c: table.c.unwrap_or(default.c),
            beta: table.beta.unwrap_or(default.beta),
            beta_ecn: table.beta_ecn.or(default.beta_ecn),
            fast_convergence: table.fast_convergence.unwrap_or(default.fast_convergence),
            reno_friendly: table.reno_friendly.unwrap_or(default.reno_friendly),
            hystart: table.hystart.map_or(default.hystart, Into::into),
        };
        if !(config.c > 0.0 && config.c <= 1e6) {
            self.report(&path.key("c"), "is no steepness", "use more than 0; RFC 9438 says 0.4");
        } else if config.variant == CubicVariant::Linux && config.c < LINUX_PRECISION {
            self.report(
                &path.key("c"),
                "is less than Linux's arithmetic can tell from 0",
                "use at least 1/1024, 0.001",
            );
        }
        self.check_betas(table.beta, table.beta_ecn, path);
        config
    }

    fn check_betas(&mut self, beta: Option<f64>, beta_ecn: Option<f64>, path: &FieldPath) {
        let known = [
            ("beta", beta, "use more than 0 and less than 1; Reno keeps 0.5, CUBIC 0.7"),
            ("beta_ecn", beta_ecn, "use more than 0 and less than 1; RFC 8511 says 0.8 for Reno, 0.85 for CUBIC"),
        ];
        for (field, fraction, remedy) in known {
            if fraction.is_some_and(|fraction| !(fraction > 0.0 && fraction < 1.0)) {
                self.report(&path.key(field), "is no fraction of the window to keep on congestion", remedy);
            }
        }
    }
}
