//! `Environment` and `VectorEnvironment`: simulations with agents, for the environments of Gymnasium.

use ackclock_agent::{ActionSpace, AgentConfig, Move};
use ackclock_env::{Autoreset, Buffers, Environment, VectorEnvironment};
use numpy::{PyArray, PyArrayDyn, PyArrayMethods, PyReadwriteArrayDyn};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Count, Seed, Threads};
use crate::decision::{AnyMove, check_actions};
use crate::failure::PartFailure;
use crate::scenario::{PyScenario, values_of};
use crate::simulation::PyOutcome;

/// An array of observations.
type Observation<'py> = Bound<'py, PyArrayDyn<f32>>;

/// The result of Gymnasium's `step`.
type Stepped<'py> = (Observation<'py>, f64, bool, bool, Bound<'py, PyDict>);

/// The results of a step for each agent: observation, reward and whether its episode ended; and whether time is over.
type SteppedAll<'py> = (Vec<Observation<'py>>, Vec<Option<f64>>, Vec<bool>, bool);

/// A flow at one moment: cwnd in bytes, srtt in ms, bytes read at its far end.
type FlowState = (u64, f64, u64);

/// A scenario with agents on some of its flows; `ackclock.gym` adapts it to Gymnasium.
///
/// Below, `agent` is an index into the list given here. An observation is a float32 array, of shape (n,) for n
/// observations, or (history, n) with a history above 1, the latest decision last. After Ctrl-C, or once a part of
/// one's own has failed, every call raises RuntimeError until the next episode begins. An unknown agent is an
/// IndexError.
///
/// Args:
///     scenario: The scenario.
///     agents: For each agent the name of its flow, and its settings as JSON of `AgentSettings.to_json`.
///
/// Raises:
///     ValueError: If a setting is wrong, a flow is unknown, or a flow has two agents.
#[pyclass(module = "ackclock._core", name = "Environment")]
pub(crate) struct PyEnvironment {
    inner: Environment,
    /// True after an exception in the episode, whose state is then useless.
    is_broken: bool,
    shapes: Vec<Vec<usize>>,
    /// The last observation, kept so that a step allocates its array only.
    row: Vec<f32>,
}

#[pymethods]
impl PyEnvironment {
    #[new]
    fn new(scenario: &PyScenario, agents: Vec<(String, String)>) -> PyResult<Self> {
        scenario.check_imported()?;
        let library = scenario.inner.library();
        let agents = agents
            .into_iter()
            .map(|(flow, config)| AgentConfig::from_json_with(&config, library).map(|config| (flow, config)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(to_value_error)?;
        let shapes = agents.iter().map(|(_, config)| shape(config)).collect();
        let scenario = scenario.inner.clone();
        let inner = PartFailure::catch(|| Environment::new(scenario, agents))?.map_err(to_value_error)?;
        Ok(Self { inner, is_broken: false, shapes, row: Vec::new() })
    }

    /// Return the spaces of an agent, as JSON.
    ///
    /// Args:
    ///     agent: The agent's index.
    ///
    /// Returns:
    ///     `observation` with `shape`, `low` and `high`, null where it is unbounded; `action` with `choices`, or with
    ///     `low` and `high`.
    fn spaces(&self, agent: usize) -> PyResult<String> {
        Ok(self.get()?.config(self.place(agent)?).spaces().to_string())
    }

    /// Begin an episode, run to its first decision, and return the first agent's observation.
    ///
    /// Args:
    ///     seed: Seed of the values that the scenario draws, and of all randomness in the run; 0 to 2^64 - 1.
    ///
    /// Raises:
    ///     ValueError: If the seed is not such a number.
    fn reset<'py>(&mut self, py: Python<'py>, seed: Seed) -> PyResult<Observation<'py>> {
        self.begin(seed.0)?;
        self.observe(py, 0)
    }

    /// Take the first agent's action, and run to its next decision.
    ///
    /// Args:
    ///     action: The index of a choice, a number within the range of the space, or a window and a rate.
    ///
    /// Returns:
    ///     Observation, reward, terminated, truncated, and an empty dictionary.
    ///
    /// Raises:
    ///     ValueError: If the action is not in the action space, or NaN.
    fn step<'py>(&mut self, py: Python<'py>, action: AnyMove) -> PyResult<Stepped<'py>> {
        let decision = self.check(0, action)?;
        let ((step, reward), observation) = self.observed(py, 0, |environment, row| {
            let step = environment.step(&[decision]);
            (step, environment.reward_and_observe(0, step, row))
        })?;
        Ok((observation, reward, step.terminated, step.truncated, PyDict::new(py)))
    }

    /// Begin an episode, run to its first decision, and return an observation for each agent.
    ///
    /// Args:
    ///     seed: Seed as for `reset`.
    ///
    /// Raises:
    ///     ValueError: If `reset` would raise it.
    fn reset_all<'py>(&mut self, py: Python<'py>, seed: Seed) -> PyResult<Vec<Observation<'py>>> {
        self.begin(seed.0)?;
        (0..self.shapes.len()).map(|agent| self.observe(py, agent)).collect()
    }

    /// Take an action for each agent, and run until every agent in charge of its window waits.
    ///
    /// Args:
    ///     actions: One action for each agent, as for `step`; an agent that does not wait ignores its action.
    ///
    /// Returns:
    ///     For each agent its observation, its reward (None where none is due), and whether its flow is over;
    ///     and whether the scenario's time is over.
    ///
    /// Raises:
    ///     ValueError: If the number of actions is wrong, or one is not in its space.
    fn step_all<'py>(&mut self, py: Python<'py>, actions: Vec<AnyMove>) -> PyResult<SteppedAll<'py>> {
        if actions.len() != self.shapes.len() {
            let (given, wanted) = (actions.len(), self.shapes.len());
            return Err(PyValueError::new_err(format!("{given} actions for {wanted} agents; give one for each")));
        }
        let decisions = actions.into_iter().enumerate().map(|(agent, action)| self.check(agent, action));
        let actions: Vec<Move> = decisions.collect::<PyResult<_>>()?;
        let (step, rewards, over) = self.drive(|environment| {
            let step = environment.step(&actions);
            let rewards = (0..actions.len()).map(|agent| environment.take_due(agent, step)).collect();
            (step, rewards, (0..actions.len()).map(|agent| environment.is_over(agent)).collect())
        })?;
        let observations = (0..self.shapes.len()).map(|agent| self.observe(py, agent)).collect::<PyResult<_>>()?;
        Ok((observations, rewards, over, step.truncated))
    }

    /// Return True if a decision of the agent is due.
    ///
    /// Args:
    ///     agent: The agent's index.
    fn is_waiting(&self, agent: usize) -> PyResult<bool> {
        Ok(self.get()?.is_waiting(self.place(agent)?))
    }

    /// Return the value of an observation now, in the unit of its name, whether or not the agent observes it.
    ///
    /// Args:
    ///     agent: The agent's index.
    ///     name: The observation's name, as `ackclock list agents` shows it.
    ///
    /// Raises:
    ///     KeyError: If the observation is unknown.
    fn read(&mut self, agent: usize, name: &str) -> PyResult<f64> {
        let observation = ackclock_agent::Observation::named(name).ok_or_else(|| {
            PyKeyError::new_err(format!("unknown observation {name:?}; `ackclock list agents` lists them"))
        })?;
        let agent = self.place(agent)?;
        Ok(self.get_mut()?.read(agent, observation))
    }

    /// The values that were drawn for the episode, by their places; empty if the scenario draws none.
    #[getter]
    fn drawn<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values_of(py, self.get()?.drawn())
    }

    /// Return a copy that continues alike.
    fn __copy__(&self) -> PyResult<Self> {
        let inner = self.get()?;
        let inner = PartFailure::catch(|| inner.clone())?;
        Ok(Self { inner, is_broken: false, shapes: self.shapes.clone(), row: Vec::new() })
    }

    /// Simulated time since the episode began, in seconds.
    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        Ok(self.get()?.now().as_secs_f64())
    }

    /// Events handled since the episode began.
    #[getter]
    fn events(&mut self) -> PyResult<u64> {
        Ok(self.get_mut()?.simulation().counters().events)
    }

    /// Return the state of flows and links, for pictures.
    ///
    /// Returns:
    ///     For each flow: cwnd (bytes), srtt (milliseconds), and data read at its far end (bytes). For each link:
    ///     the number of waiting packets.
    fn snapshot(&mut self) -> PyResult<(Vec<FlowState>, Vec<usize>)> {
        let simulation = self.get_mut()?.simulation();
        // Those of this episode, whose number may be drawn.
        let (flows, links) = (simulation.flows(), simulation.links());
        let flow = |flow| {
            let srtt = simulation.rtt(flow).srtt;
            (simulation.cwnd(flow).0, srtt.as_secs_f64() * 1e3, simulation.read(flow).0)
        };
        let flows = flows.map(flow).collect();
        Ok((flows, links.map(|link| simulation.waiting_packets(link)).collect()))
    }

    /// Return the results of the episode so far.
    fn outcome(&self) -> PyResult<PyOutcome> {
        let inner = self.get()?;
        PyOutcome::new(PartFailure::catch(|| inner.outcome())?)
    }
}

impl PyEnvironment {
    fn get(&self) -> PyResult<&Environment> {
        if self.is_broken { Err(over()) } else { Ok(&self.inner) }
    }

    fn get_mut(&mut self) -> PyResult<&mut Environment> {
        if self.is_broken { Err(over()) } else { Ok(&mut self.inner) }
    }

    fn place(&self, agent: usize) -> PyResult<usize> {
        place(agent, "agent", self.shapes.len())
    }

    fn check(&self, agent: usize, action: AnyMove) -> PyResult<Move> {
        action.check(&self.get()?.config(agent).action.space())
    }

    /// Begins an episode that does not depend on the one before, however that ended.
    fn begin(&mut self, seed: u64) -> PyResult<()> {
        self.is_broken = false;
        self.drive(|environment| environment.reset(seed)).map(drop)
    }

    /// Advances the simulation. A panic ends the episode.
    fn drive<T>(&mut self, work: impl FnOnce(&mut Environment) -> T) -> PyResult<T> {
        self.get()?;
        self.is_broken = true;
        let done = PartFailure::catch(|| work(&mut self.inner))?;
        self.is_broken = false;
        Ok(done)
    }

    fn observe<'py>(&mut self, py: Python<'py>, agent: usize) -> PyResult<Observation<'py>> {
        Ok(self.observed(py, agent, |environment, row| environment.observe(agent, row))?.1)
    }

    /// Advances the simulation by `work`, which fills the row of an agent's observation, and returns that as an array
    /// too.
    fn observed<'py, T>(
        &mut self,
        py: Python<'py>,
        agent: usize,
        work: impl FnOnce(&mut Environment, &mut [f32]) -> T,
    ) -> PyResult<(T, Observation<'py>)> {
        let mut row = std::mem::take(&mut self.row);
        row.resize(self.shapes[agent].iter().product(), 0.0);
        let done = self.drive(|environment| work(environment, &mut row));
        self.row = row;
        let done = done?;
        let array = PyArray::from_slice(py, &self.row);
        let array = match self.shapes[agent].as_slice() {
            [_] => array.to_dyn().clone(),
            rows => array.reshape(rows)?,
        };
        Ok((done, array))
    }
}

/// Copies of an environment with one agent, stepped on threads.
///
/// They hold the GIL only while a part in Python is called. After Ctrl-C, or once a part has failed, every call raises
/// RuntimeError until an episode begins in each.
///
/// Arrays are C-contiguous and filled in place; below, n is `count`, and k is the length of an observation.
///
/// Args:
///     environment: The environment to copy.
///     count: Number of copies, at least 1.
///     threads: Number of threads that step them, the caller's among them; results do not depend on it.
///     same_step: Begin the next episode within the step that ended the last, instead of with the one after it.
///
/// Raises:
///     ValueError: If there are several agents, or `count` is 0.
#[pyclass(module = "ackclock._core", name = "VectorEnvironment")]
pub(crate) struct PyVectorEnvironment {
    /// The environments; `None` after an exception of a part.
    inner: Option<VectorEnvironment>,
    plan: Plan,
    /// The action space of one environment.
    space: ActionSpace,
}

/// The settings from which vectors of environments are made.
#[derive(Clone)]
struct Plan {
    environment: Environment,
    count: usize,
    threads: usize,
    autoreset: Autoreset,
}

impl Plan {
    fn make(&self) -> PyResult<VectorEnvironment> {
        let Self { environment, count, threads, autoreset } = self;
        let made = PartFailure::catch(|| VectorEnvironment::new(environment, *count, *threads, *autoreset));
        made?.map_err(to_value_error)
    }
}

#[pymethods]
impl PyVectorEnvironment {
    #[new]
    fn new(environment: &PyEnvironment, count: Count, threads: Threads, same_step: bool) -> PyResult<Self> {
        let autoreset = if same_step { Autoreset::SameStep } else { Autoreset::NextStep };
        let environment = environment.get()?;
        let environment = PartFailure::catch(|| environment.clone())?;
        let space = environment.config(0).action.space();
        let plan = Plan { environment, count: count.0, threads: threads.0, autoreset };
        Ok(Self { inner: Some(plan.make()?), plan, space })
    }

    /// Begin an episode in each environment.
    ///
    /// Args:
    ///     seeds: n seeds, from which those of later episodes follow; an environment whose seed is None continues.
    ///     observations: Float32 array of n k numbers, to fill.
    ///
    /// Raises:
    ///     ValueError: If the number of seeds is wrong, or the array does not fit.
    ///     TypeError: If the array has another type of number.
    fn reset(
        &mut self,
        py: Python<'_>,
        seeds: Vec<Option<Seed>>,
        mut observations: PyReadwriteArrayDyn<'_, f32>,
    ) -> PyResult<()> {
        let observations = observations.as_slice_mut().map_err(to_value_error)?;
        self.expect("seeds", seeds.len(), 1)?;
        self.expect("observations", observations.len(), self.row())?;
        let seeds: Vec<Option<u64>> = seeds.into_iter().map(|seed| seed.map(|seed| seed.0)).collect();
        if self.inner.is_none() && seeds.iter().all(Option::is_some) {
            self.inner = Some(self.plan.make()?);
        }
        self.drive(py, |environment| environment.reset(&seeds, observations))
    }

    /// Act in each environment, run each to its next decision, and fill the arrays.
    ///
    /// Args:
    ///     actions: Float64 array of n numbers, as for `Environment.step`; only read.
    ///     observations: Float32 array of n k numbers.
    ///     rewards: Float64 array of n numbers.
    ///     terminated: Bool array of n: the flow has all its data delivered, or was given up.
    ///     truncated: Bool array of n: the scenario's time is over.
    ///     finals: Float32 array of n k numbers: with `same_step` the last observation of each episode that ended;
    ///         other rows stay as they are.
    ///
    /// Raises:
    ///     ValueError: If an action is not in its space, or an array does not fit.
    ///     TypeError: If an array has another type of number.
    #[allow(clippy::too_many_arguments, reason = "an array for each thing that a step gives")]
    fn step(
        &mut self,
        py: Python<'_>,
        mut actions: PyReadwriteArrayDyn<'_, f64>,
        mut observations: PyReadwriteArrayDyn<'_, f32>,
        mut rewards: PyReadwriteArrayDyn<'_, f64>,
        mut terminated: PyReadwriteArrayDyn<'_, bool>,
        mut truncated: PyReadwriteArrayDyn<'_, bool>,
        mut finals: PyReadwriteArrayDyn<'_, f32>,
    ) -> PyResult<()> {
        let actions = &*actions.as_slice_mut().map_err(to_value_error)?;
        let buffers = Buffers {
            observations: observations.as_slice_mut().map_err(to_value_error)?,
            rewards: rewards.as_slice_mut().map_err(to_value_error)?,
            terminated: terminated.as_slice_mut().map_err(to_value_error)?,
            truncated: truncated.as_slice_mut().map_err(to_value_error)?,
            finals: finals.as_slice_mut().map_err(to_value_error)?,
        };
        self.expect("actions", actions.len(), 1)?;
        check_actions(actions, &self.space)?;
        self.expect("observations", buffers.observations.len(), self.row())?;
        self.expect("rewards", buffers.rewards.len(), 1)?;
        self.expect("terminated", buffers.terminated.len(), 1)?;
        self.expect("truncated", buffers.truncated.len(), 1)?;
        self.expect("finals", buffers.finals.len(), self.row())?;
        self.drive(py, |environment| environment.step(actions, buffers))
    }

    /// Return a copy that continues alike, on threads of its own.
    ///
    /// Raises:
    ///     ValueError: If the threads cannot be started.
    fn __copy__(&self) -> PyResult<Self> {
        let inner = self.get()?;
        let (inner, plan) = PartFailure::catch(|| (inner.copy(), self.plan.clone()))?;
        Ok(Self { inner: Some(inner.map_err(to_value_error)?), plan, space: self.space })
    }

    /// Return the facts that identify an environment's episode.
    ///
    /// Args:
    ///     index: Number of the environment.
    ///
    /// Returns:
    ///     Its seed, the time since it began in seconds, and its drawn values, by place.
    fn episode<'py>(&self, py: Python<'py>, index: usize) -> PyResult<(u64, f64, Bound<'py, PyAny>)> {
        let environment = self.get()?.environment(place(index, "index", self.plan.count)?);
        Ok((environment.seed(), environment.now().as_secs_f64(), values_of(py, environment.drawn())?))
    }

    /// Return the results of the episode that a step ended, or else those of the present one.
    ///
    /// Args:
    ///     index: Number of the environment.
    fn outcome(&self, index: usize) -> PyResult<PyOutcome> {
        let (inner, index) = (self.get()?, place(index, "index", self.plan.count)?);
        PyOutcome::new(PartFailure::catch(|| inner.outcome(index))?)
    }
}

impl PyVectorEnvironment {
    fn get(&self) -> PyResult<&VectorEnvironment> {
        self.inner.as_ref().ok_or_else(over)
    }

    /// Advances the simulations. The exception of a part ends them.
    fn drive(&mut self, py: Python<'_>, work: impl FnOnce(&mut VectorEnvironment) + Send) -> PyResult<()> {
        let environment = self.inner.as_mut().ok_or_else(over)?;
        let done = py.detach(|| PartFailure::catch(|| work(environment)));
        if done.is_err() {
            self.inner = None;
        }
        done
    }

    /// The length of an observation of one environment.
    fn row(&self) -> usize {
        self.plan.environment.config(0).observation_len()
    }

    fn expect(&self, what: &str, given: usize, each: usize) -> PyResult<()> {
        let wanted = self.plan.count * each;
        if given == wanted {
            return Ok(());
        }
        Err(PyValueError::new_err(format!("{what}: must be {wanted} numbers, not {given}")))
    }
}

/// A valid index below `count`.
fn place(given: usize, what: &str, count: usize) -> PyResult<usize> {
    if given < count {
        return Ok(given);
    }
    Err(PyIndexError::new_err(format!("{what} = {given}: must be 0 to {}", count - 1)))
}

fn shape(config: &AgentConfig) -> Vec<usize> {
    let row = config.observations.len();
    if config.history == 1 { vec![row] } else { vec![config.history, row] }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the episode was ended by Ctrl-C or a failed custom part; start another with reset()")
}

fn to_value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
